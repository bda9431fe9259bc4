"""A small real TensorFlow Lite model: each stretch of samples becomes one frame of scores."""

from collections.abc import Sequence
from pathlib import Path

import flatbuffers

RESHAPE, LOGISTIC = 22, 14
FLOAT32, INT32 = 0, 2


def sigmoid_model(path: Path, *, classes: int, length: int | None = None) -> Path:
    """Write a model that folds its input to frames and takes the sigmoid; any length if None."""
    out = flatbuffers.Builder(1024)
    buffers = [_table(out, 1, {}), _table(out, 1, {0: out.CreateByteVector(_int32(-1, classes))})]
    tensors = [
        _tensor(out, "wave", [length or 1], [length or -1]),
        _tensor(out, "form", [2], [2], kind=INT32, buffer=1),
        _tensor(out, "frames", [(length or classes) // classes, classes], [-1, classes]),
        _tensor(out, "scores", [(length or classes) // classes, classes], [-1, classes]),
    ]
    operators = [_operator(out, 0, [0, 1], [2]), _operator(out, 1, [2], [3])]
    graph_fields = {
        0: _tables(out, tensors),
        1: _ints(out, [0]),
        2: _ints(out, [3]),
        3: _tables(out, operators),
    }
    graph = _table(out, 5, graph_fields)
    codes = [_code(out, RESHAPE), _code(out, LOGISTIC)]
    fields = {1: _tables(out, codes), 2: _tables(out, [graph]), 4: _tables(out, buffers)}
    out.StartObject(5)
    out.PrependUint32Slot(0, 3, 0)
    for slot, value in fields.items():
        out.PrependUOffsetTRelativeSlot(slot, value, 0)
    out.Finish(out.EndObject(), file_identifier=b"TFL3")
    path.write_bytes(bytes(out.Output()))
    return path


def _tensor(out, name, shape, signature, *, kind=FLOAT32, buffer=0) -> int:
    offsets = {0: _ints(out, shape), 3: out.CreateString(name), 7: _ints(out, signature)}
    out.StartObject(8)
    out.PrependInt8Slot(1, kind, 0)
    out.PrependUint32Slot(2, buffer, 0)
    for slot, value in offsets.items():
        out.PrependUOffsetTRelativeSlot(slot, value, 0)
    return out.EndObject()


def _operator(out, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    offsets = {1: _ints(out, inputs), 2: _ints(out, outputs)}
    out.StartObject(5)
    out.PrependUint32Slot(0, code, 0)
    for slot, value in offsets.items():
        out.PrependUOffsetTRelativeSlot(slot, value, 0)
    return out.EndObject()


def _code(out, number: int) -> int:
    out.StartObject(4)
    out.PrependInt8Slot(0, number, 0)
    out.PrependInt32Slot(2, 1, 1)
    out.PrependInt32Slot(3, number, 0)
    return out.EndObject()


def _table(out, slots: int, offsets: dict[int, int]) -> int:
    out.StartObject(slots)
    for slot, value in offsets.items():
        out.PrependUOffsetTRelativeSlot(slot, value, 0)
    return out.EndObject()


def _tables(out, offsets: Sequence[int]) -> int:
    out.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        out.PrependUOffsetTRelative(offset)
    return out.EndVector()


def _ints(out, values: Sequence[int]) -> int:
    out.StartVector(4, len(values), 4)
    for value in reversed(values):
        out.PrependInt32(value)
    return out.EndVector()


def _int32(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little", signed=True) for value in values)

"""Where a secret stands in clear text, so that an operator can be told to delete it."""

from collections.abc import Iterator

from lyrsvc.settings import dotenv, locations
from lyrsvc.settings.loading import Inputs, Loaded
from lyrsvc.settings.registry import variables
from lyrsvc.settings.resolving import written_at
from lyrsvc.settings.whole_files import read_whole

_DEFAULT_ENV_FILE = ".env"
_NO_ENV_FILE = "none"


def plaintext_copies(loaded: Loaded, path: str) -> list[str]:
    """Name every place that holds a value of this secret, used or not, the strongest first."""
    return list(dict.fromkeys(_copies(loaded, path)))


def _copies(loaded: Loaded, path: str) -> Iterator[str]:
    entry = loaded.registry.by_path[path]
    if entry.setting.flag and loaded.inputs.flags.get(path):
        yield f"the flag {entry.setting.flag.name}"
    file_name, in_file = _env_file(loaded)
    for name in variables(entry):
        for where, values in (("the environment", loaded.inputs.environ), (file_name, in_file)):
            if values.get(name, "").strip():
                yield f"{name} in {where}"
            if entry.setting.file_twin and (twin := values.get(f"{name}_FILE", "").strip()):
                yield f"{twin} (named by {name}_FILE)"
    if written_at(loaded.sources.file, path):
        yield f"{path} in {loaded.config_path}"


def _env_file(loaded: Loaded) -> tuple[str, dict[str, str]]:
    """Read the variables of the ``.env`` file, also those that the environment hides."""
    inputs: Inputs = loaded.inputs
    named = (inputs.env_file_flag or "").strip() or _DEFAULT_ENV_FILE
    if named == _NO_ENV_FILE:
        return "", {}
    home = locations.home_of(inputs.environ)
    path = locations.absolute(named, inputs.working_directory, home)
    try:
        text = read_whole(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):  # loading has told about it
        return "", {}
    return str(path), dotenv.read_dotenv(text, str(path), loaded.registry).variables

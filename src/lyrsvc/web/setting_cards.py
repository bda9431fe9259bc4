"""The settings as cards, one for each table of the file; dependent settings share a form."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lyrsvc.core.setting import Tier
from lyrsvc.settings.reference import section_text
from lyrsvc.settings.registry import Registry
from lyrsvc.settings.setting_views import SettingView
from lyrsvc.settings.settings_desk import SettingsView
from lyrsvc.web.page_actions import sentence
from lyrsvc.web.setting_controls import Control, Draft, Situation, make_control
from lyrsvc.web.setting_words import label_of

_RISK: Final = (Tier.SAFE, Tier.CAUTION, Tier.CRITICAL)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Settings that are saved together: one form."""

    controls: tuple[Control, ...]
    error: str = ""

    @property
    def action(self) -> str:
        """The route that saves it."""
        return "/settings/field" if len(self.controls) == 1 else "/settings/section"

    @property
    def tier(self) -> Tier:
        """The highest risk among its settings."""
        return max((control.tier for control in self.controls), key=_RISK.index)

    @property
    def savable(self) -> bool:
        """Whether anything in it may be changed."""
        return not all(control.disabled for control in self.controls)

    @property
    def autosaves(self) -> bool:
        """Whether a change is saved without a click."""
        return self.savable and self.tier is Tier.SAFE


@dataclass(frozen=True, kw_only=True)
class Card:
    """One table of the settings file."""

    table: str
    title: str
    text: str
    env_only: bool
    blocks: tuple[Block, ...]

    @property
    def id(self) -> str:
        """The name of the card inside the page."""
        return "table-" + self.table.replace(".", "-")

    @property
    def count(self) -> int:
        """How many settings it shows."""
        return sum(len(block.controls) for block in self.blocks)


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What comes back from a form that was not saved."""

    drafts: Mapping[str, Draft] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)


NOTHING_TYPED: Final = Typed()


def lay_out(
    found: SettingsView,
    registry: Registry,
    around: Situation,
    *,
    tab: str = "",
    wanted: str = "",
    typed: Typed = NOTHING_TYPED,
) -> list[Card]:
    """Lay out the settings of a tab, or those of all tabs that a word is found in."""
    by_table: dict[str, list[SettingView]] = {}
    for view in found.settings:
        if view.tab is not None and (_mentions(view, wanted) if wanted else view.tab == tab):
            by_table.setdefault(view.path.rpartition(".")[0], []).append(view)
    return [
        Card(
            table=table,
            title=label_of(table),
            text=section_text(registry, table),
            env_only=registry.by_path[views[0].path].setting.env_only,
            blocks=tuple(_blocks(views, registry, around, typed)),
        )
        for table, views in by_table.items()
    ]


def _blocks(
    views: Iterable[SettingView], registry: Registry, around: Situation, typed: Typed
) -> Iterator[Block]:
    grouped: dict[str, list[Control]] = {}
    for view in views:
        setting = registry.by_path[view.path].setting
        control = make_control(
            view,
            setting,
            around,
            draft=typed.drafts.get(view.path),
            error=sentence(fault) if (fault := typed.faults.get(view.path)) else "",
        )
        grouped.setdefault(setting.group or view.path, []).append(control)
    for controls in grouped.values():
        table = controls[0].path.rpartition(".")[0]
        fault = typed.faults.get(table, "") if controls[0].path in typed.drafts else ""
        yield Block(controls=tuple(controls), error=sentence(fault) if fault else "")


def _mentions(view: SettingView, wanted: str) -> bool:
    text = " ".join((view.path, label_of(view.path), view.help, *view.env, view.flag or ""))
    spaced = f"{text} {text.replace('_', ' ')}".casefold()
    return all(word in spaced for word in wanted.casefold().split())

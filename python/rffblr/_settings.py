"""Values of settings as the library spells them, and what it says of each."""

import numbers
import textwrap
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from . import _rffblr


class Form(BaseEstimator):
    """What the function of a model is made of; base of the forms. A setting that is ``None`` is as the preset says."""

    # Presets of this form, the usual one first.
    _presets: tuple[str, ...] = ()

    def _texts(self) -> list[tuple[str, str]]:
        """Names and texts of the settings that are given."""
        given = self.get_params(deep=False).items()
        return [(name, spelled(name, value)) for name, value in given if value is not None]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Form) and self._texts() == other._texts()

    def __hash__(self) -> int:
        return hash((type(self), *self._texts()))


def whole(name: str, value: Any, least: int) -> int:
    """A whole number not below the minimum, or an error that names the argument."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r}: write a whole number from {least} on")
    if value < least:
        raise ValueError(f"{name}={value!r}: write a whole number from {least} on")
    return int(value)


def spelled(name: str, value: Any) -> str:
    """The text of a setting's value, as on the command line: ``True`` is ``true``, ``[1, 0.5]`` is ``1,0.5``."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        text = str(int(value))
    elif isinstance(value, numbers.Real):
        text = repr(float(value))
    elif isinstance(value, (list, tuple, np.ndarray)):
        text = ",".join(spelled("", item) for item in value)
    else:
        raise TypeError(f"{name}={value!r} is neither text, a number, a truth value nor a list of numbers")
    return text


def parsed(text: str) -> Any:
    """The value of a setting that the library has spelled: a truth value, a number, or else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def documented(docs: str) -> str:
    """A docstring with what the library says of the settings of every form, and of presets, in place of their names."""
    entries = []
    for name, meaning, _, of_cosines, defaults in _rffblr.settings():
        if of_cosines or name in ("seed", "sparsity"):  # random_state, and a setting of a form
            continue
        kind = "int" if name == "max_iterations" else "str"
        text = textwrap.fill(f"{meaning}. [{defaults}]", 110, initial_indent=" " * 8, subsequent_indent=" " * 8)
        entries.append(f"{name} : {kind}, optional\n{text}")
    presets = ", ".join(f'"{preset}"' for preset in _rffblr.PRESETS)
    return docs.replace("{settings}", "\n    ".join(entries)).replace("{presets}", "{" + presets + "}")

"""Values of settings as the library spells them, and what it says of each."""

import numbers
import textwrap
from typing import Any

import numpy as np

from . import _rffblr


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


def documented(docs: str) -> str:
    """A docstring with what the library says of every setting in place of ``{settings}``, and of ``{presets}``."""
    types = {"N": "int or str", "SHARE": "float", "STEP": "float", "SHAPE,RATE": "(float, float) or str"}
    entries = []
    for name, meaning, values, of_cosines, defaults in _rffblr.settings():
        if name == "seed":  # random_state
            continue
        words = ", ".join(f'"{value}"' for value in values)
        kind = "{" + words + "}" if len(values) > 1 else types.get(values[0], "float, array of float or str")
        mark = " (drawn cosines)" if of_cosines else ""
        text = textwrap.fill(f"{meaning}. [{defaults}]{mark}", 110, initial_indent=" " * 8, subsequent_indent=" " * 8)
        entries.append(f"{name} : {kind}, optional\n{text}")
    presets = ", ".join(f'"{preset}"' for preset in _rffblr.PRESETS)
    return docs.replace("{settings}", "\n    ".join(entries)).replace("{presets}", "{" + presets + "}")

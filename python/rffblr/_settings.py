"""Values of settings as the library spells them."""

import numbers
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least so much, or an error that names the argument."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r}: write a whole number from {least} on")
    if value < least:
        raise ValueError(f"{name}={value!r}: write a whole number from {least} on")
    return int(value)


def spelled(name: str, value: Any) -> str:
    """The text of a setting's value: ``0.1`` as a bandwidth is ``fixed:0.1``, ``True`` is ``true``, and so on."""
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
    held = {"bandwidth": "fixed:", "relevance": "fixed:", "pruning": "below-equal-share:"}
    return held.get(name, "") + text

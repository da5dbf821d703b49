"""How far a fit is: a line on standard error or in a notebook, and scikit-learn's callbacks where it has them (from 1.9 on)."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeVar

__all__ = ["FRAMES", "Bar", "CallbackSupportMixin", "Steps", "with_callbacks"]

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks

    FRAMES = 1
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn has no callbacks yet."""

    def _with_callbacks(method: Any) -> Any:
        return method

    FRAMES = 0


def with_callbacks(method: Function) -> Function:
    """scikit-learn's decorator with the type of what it decorates. It adds ``FRAMES`` calls to the stack."""
    decorated: Function = _with_callbacks(method)
    return decorated


def notebook() -> Any:
    """IPython's module ``display`` if this runs in a notebook, else ``None``."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display if ipython is not None and hasattr(shell, "kernel") else None


class Bar:
    """One line that is written over at most ten times a second, on a terminal and in a notebook only; the last line is
    always printed."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = sys.stderr if out is None else out
        self.start = self.last = time.monotonic()
        self.length = 0
        self.page: Any = notebook() if out is None else None
        self.shown: Any = None

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.last <= 0.1:
            return
        if self.page:
            self.last = now
            self._replace(text)
        elif self.out.isatty():
            self.last = now
            self._write("\r" + text.ljust(self.length))
            self.length = len(text)

    def _replace(self, text: str) -> None:
        line = self.page.Pretty(text)
        if self.shown is None:
            self.shown = self.page.display(line, display_id=True)
        else:
            self.shown.update(line)

    def finish(self, text: str) -> None:
        end = f"{text}, {time.monotonic() - self.start:.2f} s"
        if self.page:
            self._replace(end)
            return
        self._write(("\r" if self.length else "") + end.ljust(self.length) + "\n")

    def note(self, text: str) -> None:
        self._write(f"note: {text}\n")

    def _write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


class Steps:
    """Listens to the steps of a fit on behalf of the bar and of the callbacks."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        self.bar = Bar() if estimator.verbose else None
        self.passes: dict[str, float] = {}
        self.context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            self.told = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(**self.told)

    @property
    def listener(self) -> Callable[[int, int, float, int, float], bool] | None:
        """What the compiled part calls after every step; ``None`` if there is no listener."""
        return self.step if self.bar or self.context else None

    def step(self, restart: int, number: int, objective: float, active: int, gamma: float) -> bool:
        if self.bar:
            self.bar.show(f"step {number}  objective {objective:.1f}  terms {active}  bandwidth {gamma:.4g}")
        if not self.context:
            return False
        context = self.context.subcontext(task_name="step")
        context.call_on_fit_task_begin(**self.told)
        return bool(context.call_on_fit_task_end(**self.told))

    def passed(self, what: str, done: int, total: int) -> bool:
        """Hears how far a pass over files is; ends nothing early, as half a pass is none."""
        if self.bar and total:
            start = self.passes.setdefault(what, time.monotonic())
            left = (time.monotonic() - start) * (total - done) / done if done else 0.0
            self.bar.show(f"{what}: {100 * done / total:.0f} %" + (f", {left:.0f} s left" if left >= 1 else ""))
        return False

    def end(self, text: str, notes: list[str]) -> None:
        if self.bar:
            self.bar.finish(text)
            for note in notes:
                self.bar.note(note)
        if self.context:
            self.context.call_on_fit_task_end(**self.told)

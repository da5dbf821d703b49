"""How far a fit is: a line on standard error, and scikit-learn's callbacks where it has them (from 1.9 on)."""

import sys
import time

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands where scikit-learn has no callbacks yet."""

    def with_callbacks(method):
        return method


class Bar:
    """One line that is written over at most ten times a second, on a terminal only; the end is told anywhere."""

    def __init__(self, out=None):
        self.out = sys.stderr if out is None else out
        self.start = self.last = time.monotonic()
        self.length = 0

    def show(self, text):
        now = time.monotonic()
        if self.out.isatty() and now - self.last > 0.1:
            self.last = now
            self._write("\r" + text.ljust(self.length))
            self.length = len(text)

    def finish(self, text):
        end = f"{text}, {time.monotonic() - self.start:.2f} s"
        self._write(("\r" if self.length else "") + end.ljust(self.length) + "\n")

    def note(self, text):
        self._write(f"note: {text}\n")

    def _write(self, text):
        self.out.write(text)
        self.out.flush()


class Steps:
    """Listens to the steps of a fit on behalf of the bar and of the callbacks."""

    def __init__(self, estimator, X, y, sample_weight):
        self.estimator = estimator
        self.bar = Bar() if estimator.verbose else None
        self.context = None
        if getattr(estimator, "_skl_callbacks", None):
            metadata = None if sample_weight is None else {"sample_weight": sample_weight}
            self.told = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
            self.context = estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(**self.told)

    @property
    def listener(self):
        """What the compiled part calls after every step; ``None`` if nobody listens."""
        return self.step if self.bar or self.context else None

    def step(self, restart, number, bound, active, gamma):
        if self.bar:
            self.bar.show(f"step {number}  bound {bound:.1f}  terms {active}  bandwidth {gamma:.4g}")
        if not self.context:
            return False
        context = self.context.subcontext(task_name="step")
        context.call_on_fit_task_begin(**self.told)
        return bool(context.call_on_fit_task_end(**self.told))

    def end(self, text):
        if self.bar:
            self.bar.finish(text)
        if self.context:
            self.context.call_on_fit_task_end(**self.told)

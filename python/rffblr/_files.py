"""Files that are written whole or not at all."""

import os
import tempfile


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text; where that fails, a file that was there stays as it was."""
    folder = os.path.dirname(os.fspath(path)) or "."
    handle, part = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # The permissions of any other file, not those of a secret.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise

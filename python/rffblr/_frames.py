"""Data frames of pandas and polars: their columns as the compiled part takes them, and results as frames.

Neither library is imported unless the caller uses it: an object of a library is only there if the library is.
"""

import datetime
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = np.uint32(2**32 - 1)


class RFFBLRWarning(UserWarning):
    """Something about the data that the model had to make a choice about, such as a level it has never seen."""


def aligned(numbers: NDArray[Any]) -> NDArray[Any]:
    """The numbers where the compiled part can read them: those that came from another process may lie at any byte."""
    return np.require(numbers, requirements="A")


def library_of(data: Any) -> str | None:
    """``"pandas"`` or ``"polars"`` if this is a frame or series of theirs, else ``None``."""
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)
        if module is not None and isinstance(data, (module.DataFrame, module.Series)):
            return library
    return None


def table_of(data: Any) -> Any:
    """What a caller gives as a table that can be read: a lazy frame is collected, an Arrow table becomes a frame, a sparse
    matrix is refused. Anything else is left as it is."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(data, polars.LazyFrame):
        return data.collect()
    if library_of(data) is None and hasattr(data, "__arrow_c_stream__") and hasattr(data, "column_names"):
        for library in ("polars", "pandas"):
            try:
                return __import__(library).DataFrame(data) if library == "polars" else data.to_pandas()
            except ImportError:
                continue
        raise ImportError("Arrow tables are read by polars or pandas; install one of them, for example pip install polars")
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise TypeError(
            "Sparse data was passed, but the model needs every cell: give X.toarray(), or, if that is too large, fewer "
            "columns, for example by sklearn.decomposition.TruncatedSVD"
        )
    return data


def is_frame(data: Any) -> bool:
    """Whether this is a table with columns of their own types."""
    return library_of(data) is not None and hasattr(data, "columns")


def names_of(frame: Any) -> list[str] | None:
    """Names of the columns; ``None`` if they are not all text, such as the numbers pandas gives to nameless columns."""
    names = list(frame.columns)
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None


def columns_of(frame: Any, names: list[str]) -> list[tuple[str, Any]]:
    """The columns of a frame under the names given: a list of ``(name, numbers)`` and ``(name, (levels, codes))``.

    Numbers, booleans included, become ``float64`` with NaN for missing cells; text and categories become levels and
    codes, and so do dates and times, as a file would have them. Anything else is refused.
    """
    library = library_of(frame)
    out = []
    for position, name in enumerate(names):
        column = frame.iloc[:, position] if library == "pandas" else frame[:, position]
        cells = _pandas_cells(column) if library == "pandas" else _polars_cells(column)
        if cells is None:
            raise TypeError(
                f"column '{name}' is of type {column.dtype}, which is neither a number nor a text nor a date; "
                "turn it into one of them, for example a duration into days, or leave the column out"
            )
        out.append((name, cells))
    return out


def _pandas_cells(column: Any) -> Any:
    import pandas as pd

    types = pd.api.types
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _coded(column.cat.categories.tolist(), column.cat.codes.to_numpy())
    if types.is_bool_dtype(column.dtype) or types.is_numeric_dtype(column.dtype):
        if types.is_complex_dtype(column.dtype):
            return None
        return aligned(np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    if types.is_datetime64_any_dtype(column.dtype):
        codes, moments = pd.factorize(column)
        return _coded([moment.isoformat() for moment in moments], codes)
    if types.is_string_dtype(column.dtype) or types.is_object_dtype(column.dtype):
        return _object_cells(column.to_numpy(dtype=object), column.isna().to_numpy())
    return None


def _polars_cells(column: Any) -> Any:
    import polars as pl

    if column.dtype in (pl.Categorical, pl.Enum):
        # A list of categories belongs to an Enum alone; those of a Categorical come as they appear, like text.
        levels = column.dtype.categories.to_list() if column.dtype == pl.Enum else column.drop_nulls().unique(
            maintain_order=True
        ).to_list()
        place = {level: code for code, level in enumerate(levels)}
        return _coded(levels, [-1 if cell is None else place[cell] for cell in column.to_list()])
    if column.dtype == pl.String or column.dtype in (pl.Date, pl.Datetime, pl.Time):
        return _object_cells(np.asarray(column.to_list(), dtype=object), column.is_null().to_numpy())
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return np.ascontiguousarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy())
    if column.dtype == pl.Null:
        return np.full(len(column), np.nan)
    return None


def _arrow_cells(column: Any) -> Any:
    """Those of a chunked array of Arrow, without an object for each of its texts."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return aligned(np.ascontiguousarray(column.cast(pa.float64()).to_numpy()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        coded = pa.concat_arrays(column.chunks).dictionary_encode()
        return _coded(coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy())
    return None


def _object_cells(cells: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    """Python objects: numbers if all that are there are numbers, text if all are text or all dates; else ``None``."""
    present = cells[~missing]
    if all(isinstance(cell, (int, float, np.number, np.bool_)) for cell in present):
        out = np.full(len(cells), np.nan)
        out[~missing] = present.astype(np.float64)
        return out
    kinds = (datetime.date, datetime.time)
    dates = all(isinstance(cell, kinds) for cell in present)
    if not dates and not all(isinstance(cell, str) for cell in present):
        return None
    place: dict[str, int] = {}
    codes = np.full(len(cells), -1, dtype=np.int64)
    for row in np.flatnonzero(~missing):
        text = cells[row].isoformat() if dates else cells[row]
        codes[row] = place.setdefault(text, len(place))
    return _coded(list(place), codes)


def _coded(levels: list[Any], codes: Any) -> tuple[list[str], NDArray[np.uint32]]:
    codes = np.asarray(codes, dtype=np.int64)
    return [str(level) for level in levels], np.where(codes < 0, np.int64(MISSING), codes).astype(np.uint32)


def numbers_of(frame: Any) -> Any:
    """The numbers of a frame that has nothing else, where they lie if possible; ``None`` for any other frame."""
    if library_of(frame) == "pandas":
        if all(dtype == np.float64 for dtype in frame.dtypes):
            return frame.to_numpy()
    elif all(str(dtype) == "Float64" for dtype in frame.dtypes) and not any(frame.null_count().row(0)):
        return frame.to_numpy()
    return None


def targets_of(y: Any) -> tuple[Any, list[str] | None]:
    """Targets as an array, and their names if they have any."""
    library = library_of(y)
    if library is None:
        return y, None
    if is_frame(y):
        columns = columns_of(y, [str(name) for name in y.columns])
        for name, values in columns:
            if isinstance(values, tuple):
                raise ValueError(
                    f"target '{name}' is text; targets must be numbers, NaN where missing. Classes are not predicted "
                    "here: with 1 for one of them and 0 for the others, the prediction estimates its probability"
                )
        cells = [values for _, values in columns]
        return np.column_stack(cells) if cells else np.empty((len(y), 0)), names_of(y)
    cells = _pandas_cells(y) if library == "pandas" else _polars_cells(y)
    if not isinstance(cells, np.ndarray):
        raise ValueError("the target is not a column of numbers; missing values may be NaN or null")
    return cells, [y.name] if isinstance(y.name, str) and y.name else None


def frame(columns: dict[str, Any], library: str | None, index: Any = None) -> Any:
    """Columns by name as a frame of the library asked for; of pandas, or else of polars, if none is."""
    for choice in [library] if library else ["pandas", "polars"]:
        try:
            if choice == "pandas":
                import pandas

                return pandas.DataFrame(columns, index=index)
            if choice == "polars":
                import polars

                return polars.DataFrame(columns)
        except ImportError:
            if library:
                raise
            continue
        raise ValueError(f"frame_library={choice!r}: write pandas or polars")
    raise ImportError("frames need pandas or polars; install one of them, for example with pip install pandas")

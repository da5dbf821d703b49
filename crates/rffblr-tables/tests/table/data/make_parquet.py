"""Makes the Parquet and Arrow files that the tests read: written by pyarrow, so by another library than the one under test.

    python make_parquet.py        (the files in this folder: pyarrow 26.0.1, numpy 2.4.6)
"""

import datetime
import decimal

import numpy
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

types = pyarrow.table(
    {
        "int8": pyarrow.array([-128, None, 127, 0, 5], pyarrow.int8()),
        "int32": pyarrow.array([-(2**31), 2**31 - 1, None, 0, 1], pyarrow.int32()),
        "int64": pyarrow.array([-(2**40), 2**40, 3, None, 1], pyarrow.int64()),
        "uint8": pyarrow.array([0, 255, None, 1, 2], pyarrow.uint8()),
        "uint32": pyarrow.array([2**32 - 1, 0, 1, 2, None], pyarrow.uint32()),
        "uint64": pyarrow.array([2**63, 0, 1, 2, None], pyarrow.uint64()),
        "float": pyarrow.array([0.5, -1.25, None, float("nan"), 1e10], pyarrow.float32()),
        "double": pyarrow.array([0.1, 1e-300, None, float("nan"), -2.5], pyarrow.float64()),
        "bool": pyarrow.array([True, False, None, True, False]),
        "text": pyarrow.array(["b", "a", None, "", "b"]),
        "large": pyarrow.array(["ä,\n\"", "x", "NA", None, "x"], pyarrow.large_string()),
        "category": pyarrow.array(["hi", "lo", "hi", None, "lo"]).dictionary_encode(),
        "nothing": pyarrow.nulls(5),
    }
)
pyarrow.parquet.write_table(types, "types.parquet", row_group_size=2, compression="snappy")
pyarrow.parquet.write_table(types, "types_v2_zstd.parquet", data_page_version="2.0", compression="zstd")
pyarrow.parquet.write_table(types, "types_plain.parquet", use_dictionary=False, compression="none")
pyarrow.parquet.write_table(types.select(["double"]), "gzip.parquet", compression="gzip")

required = pyarrow.schema([pyarrow.field("x", pyarrow.float64(), nullable=False)])
pyarrow.parquet.write_table(pyarrow.table({"x": [1.5, 2.5]}, schema=required), "required.parquet")

odd = pyarrow.table(
    {
        "x": [1.0, 2.0],
        "day": pyarrow.array([datetime.date(2020, 1, 1)] * 2),
        "clock": pyarrow.array([datetime.time(12, 30)] * 2),
        "stamp": pyarrow.array([datetime.datetime(2020, 1, 1)] * 2),
        "money": pyarrow.array([decimal.Decimal("1.50")] * 2, pyarrow.decimal128(9, 2)),
        "list": pyarrow.array([[1.0], [2.0, 3.0]]),
        "struct": pyarrow.array([{"a": 1, "b": 2}] * 2),
        "blob": pyarrow.array([b"ok", b"\xff\xfe"], pyarrow.binary()),
        "half": pyarrow.array(numpy.array([1, 2], numpy.float16)),
        "fixed": pyarrow.array([b"ab", b"cd"], pyarrow.binary(2)),
        "infinite": pyarrow.array([1.0, float("-inf")]),
    }
)
pyarrow.parquet.write_table(odd, "odd.parquet", compression="snappy")
# Columns of columns: what a column is made of is no column of a table, whatever it is called.
nested = pyarrow.table(
    {
        "x": [1.0, 2.0, 3.0],
        "list": pyarrow.array([[1.0], [], None]),
        "lists": pyarrow.array([[[1, 2], []], None, [None]]),
        "struct": pyarrow.array([{"x": 1, "deep": {"y": [2.5]}}, None, {"x": None, "deep": None}]),
        "structs": pyarrow.array([[{"a": "p"}], [], [{"a": None}, {"a": "q"}]]),
        "map": pyarrow.array([[("k", 1.5)], [], None], pyarrow.map_(pyarrow.string(), pyarrow.float64())),
        "y": ["p", "q", None],
    }
)
pyarrow.parquet.write_table(nested, "nested.parquet", compression="snappy")
pyarrow.feather.write_feather(nested, "nested.feather", compression="uncompressed")
stamps = odd.select(["stamp"])
pyarrow.parquet.write_table(stamps, "int96.parquet", use_deprecated_int96_timestamps=True)
pyarrow.parquet.write_table(types.slice(0, 0), "no_rows.parquet")

pyarrow.feather.write_feather(types, "types.feather", compression="lz4", chunksize=2)
pyarrow.feather.write_feather(types, "types_zstd.feather", compression="zstd")
with pyarrow.ipc.new_file("types_plain.arrow", types.schema) as plain:
    plain.write_table(types)
times = pyarrow.table(
    {
        "day": pyarrow.array([datetime.date(2020, 1, 1), None]),
        "clock": pyarrow.array([datetime.time(12, 30), None]),
        "stamp": pyarrow.array([datetime.datetime(2020, 1, 1, 6, 30), None], pyarrow.timestamp("ns")),
        "second": pyarrow.array([datetime.datetime(2020, 1, 1, 6, 30), None], pyarrow.timestamp("s")),
        "money": pyarrow.array([decimal.Decimal("1.50"), None], pyarrow.decimal128(9, 2)),
        "half": pyarrow.array(numpy.array([0.5, 2], numpy.float16)),
        "view": pyarrow.array(["a", None], pyarrow.string_view()),
    }
)
pyarrow.feather.write_feather(times, "times.feather", compression="uncompressed")
pyarrow.feather.write_feather(odd.select(["x", "list", "blob"]), "odd.feather", compression="uncompressed")
pyarrow.feather.write_feather(types.slice(0, 0), "no_rows.feather", compression="uncompressed")

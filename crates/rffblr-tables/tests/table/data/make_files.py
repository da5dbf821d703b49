"""Writes visits.xlsx, visits.ods and times.parquet, with openpyxl 3.1, odfpy 1.4 and pyarrow."""

import datetime as dt
import decimal
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

OUT = Path(__file__).parent

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "visits"
for row in [
    ("when", "dose", "note", "seen"),
    (dt.datetime(2024, 5, 31, 14, 30), 1.5, 'a, "b"', True),
    (dt.datetime(2024, 6, 1), 2, "two\nlines", False),
    (None, None, None, None),
    (dt.datetime(1999, 12, 31), -0.25, None, True),
]:
    sheet.append(row)
other = book.create_sheet("other")
other.append(["x"])
other.append([7])
book.save(OUT / "visits.xlsx")


def cell(value):
    if value is None:
        return TableCell()
    if isinstance(value, dt.date):
        made = TableCell(valuetype="date", datevalue=value.isoformat())
    elif isinstance(value, float):
        made = TableCell(valuetype="float", value=value)
    else:
        made = TableCell(valuetype="string")
    made.addElement(P(text=str(value)))
    return made


document = OpenDocumentSpreadsheet()
table = Table(name="visits")
for row in [("when", "dose", "note"), (dt.date(2024, 5, 31), 1.5, "a"), (dt.date(2024, 6, 1), None, "b")]:
    line = TableRow()
    for value in row:
        line.addElement(cell(value))
    table.addElement(line)
document.spreadsheet.addElement(table)
document.save(OUT / "visits.ods")

time, day = dt.datetime(2024, 5, 31, 14, 30, 5), dt.datetime(2000, 1, 1)
columns = {
    "day": pa.array([dt.date(2024, 5, 31), None, dt.date(1969, 12, 31)]),
    "ms": pa.array([dt.datetime(2024, 5, 31, 14, 30, 0, 250000), dt.datetime(1970, 1, 1), None], pa.timestamp("ms")),
    "us": pa.array([time, None, day], pa.timestamp("us")),
    "ns": pa.array([time, None, day], pa.timestamp("ns")),
    "clock": pa.array([dt.time(9, 15), dt.time(0, 0), None], pa.time32("ms")),
    "price": pa.array([decimal.Decimal("12.34"), None, decimal.Decimal("-0.05")], pa.decimal128(9, 2)),
    "__index_level_0__": pa.array([0, 1, 2]),
}
pq.write_table(pa.table(columns), OUT / "times.parquet", store_decimal_as_integer=True)

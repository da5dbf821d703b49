"""Whether the command gives the same predictions on the GPU as on the processor, and the same bits when it is run again.

    python3 compare.py RFFBLR [DEVICE]
"""

import csv
import math
import pathlib
import random
import subprocess
import sys
import tempfile

# Learning in steps enlarges what rounding differs by. How far a fit moves on the processor when the last bit of every target
# changes is the yardstick: the GPU may differ by TIMES that, or by FLOOR, but by no more than MOST; all in standard deviations of
# the predictions of a target.
TIMES, FLOOR, MOST = 100, 1e-8, 0.05
ROWS, TEST_ROWS = 4_000, 500
CASES = {
    "exact": ["--preset", "exact", "--max-iterations", "20"],
    "drawn": ["--preset", "cosines", "--features", "512", "--max-iterations", "20"],
    "pruned": ["--preset", "cosines", "--features", "256", "--precision", "free", "--max-iterations", "20"],
}


def write(path: pathlib.Path, rows: int, seed: int, bits: int = 0) -> None:
    """Four inputs, one of them text, gaps in an input and in a target; the targets moved up by some last bits."""
    draw = random.Random(seed)
    lines = ["a,b,c,d,y,z"]
    for _ in range(rows):
        a, b, c, d = draw.gauss(0, 1), draw.gauss(0, 1), draw.uniform(-2, 2), draw.choice(["red", "blue", "green"])
        y = math.sin(2 * a) + b * c + draw.gauss(0, 0.3)
        z = abs(a) + (d == "red") + draw.gauss(0, 0.3)
        y, z = (value * (1 + bits * sys.float_info.epsilon) for value in (y, z))
        cells = [repr(a), "" if draw.random() < 0.05 else repr(b), repr(c), d, repr(y)]
        lines.append(",".join([*cells, "" if draw.random() < 0.2 else repr(z)]))
    path.write_text("\n".join(lines) + "\n")


def predictions(rffblr: str, folder: pathlib.Path, arguments: list[str], device: str, table: str = "train") -> tuple[str, str]:
    model, out = folder / "model.json", folder / "out.csv"
    line = [rffblr, "fit", folder / f"{table}.csv", "--targets", "y,z", "--check", "off", "--force", "-q", "-o", model]
    subprocess.run([*line, "--device", device, *arguments], check=True)
    line = [rffblr, "predict", model, folder / "test.csv", "--force", "-q", "-o", out, "--device", device]
    subprocess.run(line, check=True)
    return model.read_text(), out.read_text()


def columns(text: str) -> dict[str, list[float]]:
    header, *rows = csv.reader(text.splitlines())
    return {name: [float(row[place]) for row in rows] for place, name in enumerate(header)}


def difference(one: str, other: str) -> float:
    """The largest of all columns."""
    found = []
    own, theirs = columns(one), columns(other)
    for name, values in own.items():
        # Deviations and ends of intervals are measured by the predictions themselves.
        scale = own[name.removesuffix("_std").removesuffix("_lower").removesuffix("_upper")]
        mean = math.fsum(scale) / len(scale)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in scale) / len(scale))
        found.append(max(abs(a - b) for a, b in zip(values, theirs[name], strict=True)) / spread)
    return max(found)


def main() -> None:
    rffblr, device = sys.argv[1], (sys.argv[2:] or ["cuda"])[0]
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "train.csv", ROWS, 1)
        write(folder / "shaken.csv", ROWS, 1, bits=1)
        write(folder / "test.csv", TEST_ROWS, 2)
        for case, arguments in CASES.items():
            _, host = predictions(rffblr, folder, arguments, "cpu")
            _, shaken = predictions(rffblr, folder, arguments, "cpu", "shaken")
            model, here = predictions(rffblr, folder, arguments, device)
            again = predictions(rffblr, folder, arguments, device) == (model, here)
            apart, moved = difference(host, here), difference(host, shaken)
            print(
                f"{case}: {device} and cpu differ by {apart:.1e} standard deviations, a last bit of the targets makes {moved:.1e}; "
                f"{'the same' if again else 'OTHER'} bits again"
            )
            if apart > min(max(TIMES * moved, FLOOR), MOST) or not again:
                failed.append(case)
    if failed:
        sys.exit(f"too far apart, or other bits: {', '.join(failed)}")


if __name__ == "__main__":
    main()

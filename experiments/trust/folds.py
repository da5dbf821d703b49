"""The folds that `rffblr evaluate --folds K --seed S` deals out, in Python: rows sorted by the numbers of ChaCha8.

For methods that cannot use gaps in targets: they get the same folds, less the rows without the target.
"""

WORD = 0xFFFFFFFF


def folds(rows: int, count: int, seed: int) -> list[list[int]]:
    """Rows tested by each fold, rising."""
    numbers = chacha8(seed)
    dealt = sorted((next(numbers) | next(numbers) << 32, row) for row in range(rows))
    return [sorted(row for _, row in dealt[first::count]) for first in range(count)]


def chacha8(seed: int):
    """The 32-bit numbers of ChaCha8 with the key that rand_core makes of a seed (PCG32)."""
    key, state = [], seed
    for _ in range(8):
        state = (state * 6364136223846793005 + 11634580027462260723) & 0xFFFFFFFFFFFFFFFF
        key.append(rotated((((state >> 18) ^ state) >> 27) & WORD, -(state >> 59)))
    block = 0
    while True:
        start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key, block & WORD, block >> 32, 0, 0]
        x = start.copy()
        for _ in range(4):
            for first in range(4):
                quarter(x, first, 4 + first, 8 + first, 12 + first)
            for first in range(4):
                quarter(x, first, 4 + (first + 1) % 4, 8 + (first + 2) % 4, 12 + (first + 3) % 4)
        yield from ((a + b) & WORD for a, b in zip(x, start, strict=True))
        block += 1


def quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for into, add, mixed, turn in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
        x[into] = (x[into] + x[add]) & WORD
        x[mixed] = rotated(x[mixed] ^ x[into], turn)


def rotated(word: int, left: int) -> int:
    left %= 32
    return (word << left | word >> (32 - left)) & WORD if left else word

#!/usr/bin/env python3
"""The write-ahead log of a killed batch is cut or spoilt at every frame: what is before counts,
nothing else does, and the resumed batch ends like one that was never stopped.

usage: damaged_log.py LEDGERBATCH FAULTY_FILES [--places N] [--months N] [--seed S]
"""
import argparse
import os
import random
import sys
from pathlib import Path

import books
from small_batch import SmallBatch, tally, temporary_folder

# SQLite's write-ahead log: a header, then frames of a header and a page.
LOG_HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24
PAGE_SIZE = 16384
FRAME_SIZE = FRAME_HEADER_SIZE + PAGE_SIZE
# Where a frame is cut, besides where it begins.
CUTS = (1, FRAME_HEADER_SIZE - 1, FRAME_HEADER_SIZE, FRAME_HEADER_SIZE + 1,
        FRAME_HEADER_SIZE + PAGE_SIZE // 2, FRAME_SIZE - 1)  # fmt: skip


def damages(size, places, chance):
    """(cut or spoil, where): every boundary, and so many places within each part."""
    for at in range(LOG_HEADER_SIZE):
        yield "spoil", at
    for at in (0, 1, LOG_HEADER_SIZE - 1):
        yield "cut", at
    frames = (size - LOG_HEADER_SIZE) // FRAME_SIZE
    for frame in range(frames):
        begin = LOG_HEADER_SIZE + frame * FRAME_SIZE
        yield "cut", begin
        for i in range(places):
            yield "cut", begin + CUTS[(frame + i) % len(CUTS)]
            in_header = (frame + i) % 2 == 0
            yield "spoil", begin + (chance.randrange(FRAME_HEADER_SIZE) if in_header else
                                    chance.randrange(FRAME_HEADER_SIZE, FRAME_SIZE))  # fmt: skip


def apply(log, damage, at, chance):
    if damage == "cut":
        os.truncate(log, at)
        return
    with open(log, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    faulty_files = sys.argv.pop(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--places", type=int, default=2, help="within each frame")
    parser.add_argument("--months", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    chance = random.Random(options.seed)
    points = 0
    with temporary_folder() as path:
        batch = SmallBatch(binary, faulty_files, path, options.months)
        wanted, operations = batch.undisturbed()
        killed = Path(path) / "killed"
        batch.save_killed(operations, killed)
        size = (killed / "db-wal").stat().st_size
        books.check((killed / "db").stat().st_size <= PAGE_SIZE, "there was no checkpoint yet")
        books.check(size > LOG_HEADER_SIZE + 10 * FRAME_SIZE, f"a log of {size} bytes only")
        for damage, at in damages(size, options.places, chance):
            batch.restore(killed)
            apply(batch.work / "db-wal", damage, at, chance)
            batch.finish(wanted, f"seed {options.seed}: {damage} at byte {at} of {size}")
            points += 1
    tally(points)
    print(f"{points} cuts and spoilt bytes in a log of {size // FRAME_SIZE} frames: every batch "
          "ended like the undisturbed one")  # fmt: skip


if __name__ == "__main__":
    main()

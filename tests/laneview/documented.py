#!/usr/bin/env python3
"""The pictures of the documentation are what the program draws from the recordings beside them.

usage: documented.py LANEVIEW PICTURES
"""
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from runs import Run
from views import Views, check


def words(svg):
    """Its texts: all that does not depend on the version of Graphviz."""
    return sorted(text.text for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def main():
    views = Views()
    pictures = Path(sys.argv[1])
    subprocess.run(["bash", pictures / "draw.sh", views.binary, views.path], check=True)
    names = sorted(path.name for path in pictures.glob("*.svg"))
    check("seed.svg" in names and "latches-18.svg" in names, f"there are pictures: {names}")
    for name in names:
        there = (pictures / name).read_bytes()
        if not name.startswith("latches-"):
            check((views.path / name).read_bytes() == there, f"{name} is drawn otherwise now")
        elif shutil.which("dot"):
            check(words((views.path / name).read_bytes()) == words(there), f"{name} says otherwise now")
    for recording in pictures.glob("*.recording"):
        Run(recording.read_bytes()).check_order()
    print(f"documented: {len(names)} pictures are what is drawn")


if __name__ == "__main__":
    main()

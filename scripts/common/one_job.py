"""The words that deploy a staging directory for one job of Open MPI, from the line of its README.txt, one on a line: --mca NAME VALUE as they stand,
NAME=VALUE for each -x. Nothing where there is no such file."""
import pathlib
import shlex
import sys

readme = pathlib.Path(sys.argv[1])
lines = readme.read_text().splitlines() if readme.exists() else []
words = next((shlex.split(line) for line in lines if line.startswith("mpirun ") and line.endswith(" ...")), [])
for word in words[1:-1]:
    if word != "-x":
        print(word)

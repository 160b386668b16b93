#!/bin/bash -l
# Written by `kilter guard --install-hints`; the other files beside it call it. Exit status: 0 nothing changed, 1 something changed or is
# slower, 2 could not be checked.
#
# Load here what users' jobs load, so that the check sees what they get:
#   module load openmpi/4.1 kilter/openmpi-4.1
cd {directory} || exit 2
exec {command} "$@"

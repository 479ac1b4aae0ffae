#!/bin/sh
# Record every CPU program on this machine: iree-tuner db record goes on where it was stopped.
#   scripts/record_cpu.sh FOLDER [COUNT]
set -eu
folder=${1:?folder for the recordings}
count=${2:-350}
here=$(dirname "$0")/..
for program in "$here"/programs/recorded/cpu/*.mlir; do
  iree-tuner db record "$program" --count "$count" -o "$folder" --db "$folder/trials.db"
done

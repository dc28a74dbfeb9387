#!/bin/sh
# A timing program for tests, which times nothing. As "threads" it is told what to be: 1 takes a millisecond, 2 takes two, 3
# knows no request, 4 has other cells.
echo '{"version": "test", "resident": 0}'
while read -r request; do
    case "$1:$request" in
        3:*) echo '{"error": "unknown request"}' ;;
        4:*hash*) echo '{"hash": "other"}' ;;
        *hash*) echo '{"hash": "same"}' ;;
        2:*) echo '{"seconds": 0.002}' ;;
        *) echo '{"seconds": 0.001}' ;;
    esac
done

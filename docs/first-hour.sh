#!/bin/sh
# The commands of first-hour.md, which explains them: run them in an empty folder, with tdb in the PATH.
# A test compares the two, so change both.
set -eu

cat > day.awk <<'EOF'
BEGIN {
    print "station,time,temperature,wind"
    split("BERGEN OSLO ROMA", stations, " ")
    for (hour = 0; hour < 24; hour++)
        for (s = 1; s <= 3; s++) {
            warm = hour < 12 ? hour : 24 - hour
            broken = day == 2 && hour == 9 && s == 2
            printf "%s,2026-01-%02dT%02d:00,%.1f,%d\n", stations[s], day, hour, broken ? 999 : 5 * s + warm / 2 - day, hour * s % 7
        }
}
EOF
awk -v day=1 -f day.awk > day1.csv
awk -v day=2 -f day.awk > day2.csv
head -n 3 day1.csv

tdb import weather day1.csv --dims station,time --compress small --time 2026-01-02

tdb import weather day2.csv --time 2026-01-03
tdb info weather > info.txt

tdb read weather --range station=OSLO --range 'time=2026-01-01T10:00..2026-01-01T12:00'

tdb read weather --where 'temperature > 18 and wind < 2' --format csv
tdb read weather --aggregate 'count, max(temperature)' --range station=OSLO
tdb show weather --attr temperature --dims time,station
tdb show weather --attr temperature --dims time,station --out weather.svg

tdb delete weather --where 'temperature > 100' --dry-run
tdb delete weather --where 'temperature > 100' --time 2026-01-04 --json > deleted.json
tdb read weather --aggregate 'count, max(temperature)'
tdb read weather --aggregate 'count, max(temperature)' --at 2026-01-03

tdb copy weather small --filters 'zstd(19)' --filters 'temperature=byteshuffle, zstd(19)'
tdb consolidate weather > plan.txt
tdb vacuum weather > removed.txt
tdb verify weather > verified.txt
tdb read weather --aggregate 'count, max(temperature)' --at 2026-01-03

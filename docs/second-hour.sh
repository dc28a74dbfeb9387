#!/bin/sh
# The commands of second-hour.md, which explains them: run them in an empty folder, with tdb in the PATH.
# A test compares the two, so change both.
set -eu

cat > flights.awk <<'EOF'
BEGIN {
    print "time_hour,carrier,flight,origin,dest,dep_delay,distance"
    split("UA B6 DL", carriers, " "); split("EWR JFK LGA", origins, " ")
    split("LAX BOS MIA ORD SJU", dests, " "); split("2475 187 1089 733 1598", miles, " ")
    for (day = 1; day <= 30; day++)
        for (hour = 6; hour < 22; hour++)
            for (c = 1; c <= 3; c++) {
                n++; d = n * 7 % 5 + 1
                delay = n % 29 == 0 ? "NA" : n == 700 || n == 701 ? 1301 : n * 37 % 61 - 12
                printf "2013-06-%02dT%02d:00:00-04:00,%s,%d,%s,%s,%s,%d\n", day, hour, carriers[c], n, origins[n % 3 + 1], dests[d], delay, miles[d]
            }
}
EOF
awk -f flights.awk > flights.csv
cat > airports.csv <<'EOF'
faa,city,lat,lon,lounge
LAX,Los Angeles,33.94,-118.41,yes
BOS,Boston,42.36,-71.01,NA
MIA,Miami,25.79,-80.29,yes
ORD,Chicago,41.98,-87.90,NA
EOF

tdb import guess flights.csv 2>&1
tdb import flights flights.csv --dims time_hour,carrier,flight --null NA --time 2013-07-01
tdb import airports airports.csv --dims faa --null NA --time 2013-07-01

tdb read flights --range time_hour=2013-06-30 --aggregate 'count, null_count(dep_delay)'
tdb sql "SELECT min(time_hour) AS first, count(*) AS flights, count(dep_delay) AS flown FROM flights WHERE date_trunc('day', time_hour) = TIMESTAMP '2013-06-30'"

tdb sql --format table "SELECT city, lounge, count(*) AS flights, count(dep_delay) AS flown, round(avg(dep_delay), 2) AS delay FROM flights LEFT JOIN airports ON faa = dest GROUP BY ALL ORDER BY delay DESC"

tdb sql "SELECT carrier, flight, CAST(CASE WHEN flight % 17 > 0 THEN distance * 0.11 + 49 END AS DECIMAL(8, 2)) AS fare, arrow_cast(time_hour, 'Timestamp(Millisecond, Some(\"America/New_York\"))') AS departure FROM flights" --out fares.parquet
tdb import fares fares.parquet --dims carrier,flight --time 2013-07-01 2> note.txt
tdb meta fares
tdb read fares --range carrier=B6 --range flight=14..20
tdb import dollars fares.parquet --dims carrier,flight --types fare=float64
tdb sql --format table "SELECT origin, count(fare) AS paid, round(avg(fare), 2) AS mean FROM flights JOIN dollars USING (carrier, flight) GROUP BY origin ORDER BY origin"

tdb sql "UPDATE flights SET dep_delay = 0 WHERE dest = 'SJU' AND dep_delay IS NULL" 2>&1
tdb sql "SELECT count(*) AS flights, count(dep_delay) AS flown FROM flights"
tdb sql --at 2013-07-01 "SELECT count(*) AS flights, count(dep_delay) AS flown FROM flights"

tdb delete flights --where 'dep_delay > 1000' 2>&1 || echo "exit code $?"
tdb delete flights --where 'dep_delay > 1000' --by-coordinates --json > deleted.json
tdb read flights --aggregate 'count, null_count(dep_delay), max(dep_delay)'

mkdir temporary
export TMPDIR="$PWD/temporary"
timeout --preserve-status -s INT 1 tdb sql "SELECT count(*) FROM flights a, flights b, flights c WHERE a.dep_delay <> b.dep_delay * c.distance" || echo "exit code $?"
sort="SELECT f.*, copy.value FROM flights f, generate_series(1, 60) AS copy ORDER BY md5(concat(carrier, flight, copy.value))"
tdb sql --memory 16MiB "$sort" --out sorted.csv
grep -c UA sorted.csv
tdb sql --memory 16MiB "EXPLAIN ANALYZE $sort" | grep -q 'spill_count=[1-9]' && echo "the sort used files"
ls -A temporary

tdb show flights --attr dep_delay --dims time_hour,carrier
tdb show flights --attr dep_delay --dims time_hour,carrier --out delays.png
tdb verify flights > verified.txt

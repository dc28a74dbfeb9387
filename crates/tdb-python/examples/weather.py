"""Creates a sparse array of measurements, reads a part of it, and streams the rest."""

from __future__ import annotations

import sys
import tempfile

import numpy as np

import tdb


def make(uri: str) -> tdb.Array:
    """An array of 1,000 days at two places."""
    schema = tdb.Schema(
        "sparse",
        [
            tdb.Dimension("day", ("2020-01-01", "2029-12-31"), "datetime64[D]", tile=365),
            tdb.Dimension("place", dtype="ascii"),
        ],
        [tdb.Attribute("rain", "float32", filters="byteshuffle, zstd(5)")],
    )
    array = tdb.create(uri, schema)
    days = np.datetime64("2020-01-01") + np.arange(1000)
    rain = np.random.default_rng(1).gamma(0.5, 4.0, 2000).astype(np.float32)
    array.write({"day": np.repeat(days, 2), "place": ["Bergen", "Oslo"] * 1000, "rain": rain})
    array.meta["unit"] = "mm"
    return array


def wettest(array: tdb.Array, place: str) -> float:
    """The most rain of a day, without reading the cells into Python."""
    return float(array.aggregate("max(rain)", ranges={"place": place})["max(rain)"])


def total(array: tdb.Array) -> float:
    """The sum of all rain, inside 16 MB of memory."""
    return sum(float(batch.to_numpy()["rain"].sum()) for batch in array.stream(memory="16MB"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        array = make(sys.argv[1] if len(sys.argv) > 1 else f"{folder}/weather")
        march = array["2020-03-01":"2020-03-08", "Oslo"]
        print(f"{len(march['day'])} days in Oslo, {array.meta['unit']}: {march['rain'].round(1).tolist()}")
        wet = array.read(where=(tdb.field("rain") > 20) & (tdb.field("place") == "Bergen"))
        print(f"{wet.count()} wet days in Bergen; at most {wettest(array, 'Bergen'):.1f}; {total(array):.0f} in all")


if __name__ == "__main__":
    main()

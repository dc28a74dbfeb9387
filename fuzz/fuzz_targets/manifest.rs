#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tdb_fuzz_bodies::manifest(data));

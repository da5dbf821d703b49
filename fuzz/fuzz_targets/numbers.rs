#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rffblr_fuzz::numbers(bytes);
});

//! Replays command lines and compares all they print, errors too, and how they exit.

#[test]
fn command_lines_print_what_is_written_down() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}

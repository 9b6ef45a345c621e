//! What must not compile: a tool without a permit, an answer without the filter, a reply without the log.

#[test]
fn the_three_doors_cannot_be_walked_around() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_pass/*.rs");
}

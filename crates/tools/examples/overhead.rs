//! Prints the token cost of the fixed part of every request: the instructions and the tool list.

use domain::context::{Names, instructions, overhead};
use engine::ports::Hands;
use tools::Toolbox;

#[expect(clippy::print_stdout, reason = "the example prints its result")]
fn main() {
    let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
    println!(
        "fixed prompt overhead: {} tokens",
        overhead(&instructions(&names), &Toolbox::default().tools())
    );
}

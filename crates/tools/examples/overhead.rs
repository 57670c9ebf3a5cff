//! Prints the token cost of the fixed part of every request: the instructions and the tool list.

use domain::context::{Names, estimate_overhead, instructions};
use engine::ports::ToolRunner;
use tools::Toolbox;

#[expect(clippy::print_stdout, reason = "the example prints its result")]
fn main() {
    let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
    println!(
        "fixed prompt overhead: {} tokens",
        estimate_overhead(&instructions(&names), &Toolbox::default().tools())
    );
}

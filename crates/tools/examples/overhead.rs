//! Says what every request costs before anything was said.

use domain::context::{Names, instructions, overhead};
use engine::ports::Hands;
use tools::Toolbox;

#[expect(clippy::print_stdout, reason = "whoever measures reads it there")]
fn main() {
    let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
    println!(
        "fixed prompt overhead: {} tokens",
        overhead(&instructions(&names), &Toolbox::default().tools())
    );
}

//! The method in words.

use askama::Template;
use kilter_model::report::Report;
use kilter_render::format;

use super::{Section, View, nothing};

pub(super) static SECTION: Section = Section {
    id: "method",
    navigation: None,
    fields: &["provenance"],
    html,
    text: nothing,
    markdown: nothing,
};

#[derive(Template)]
#[template(
    source = r##"<section id="method">
<h2>Method</h2>
<p>{% for sentence in method %}{{ sentence }} {% endfor %}</p>
</section>
"##,
    ext = "html"
)]
struct Page {
    method: [String; 5],
}

fn html(view: &View<'_>) -> askama::Result<String> {
    Page {
        method: method(view.report),
    }
    .render()
}

/// The method, in five sentences.
fn method(report: &Report) -> [String; 5] {
    let p = &report.provenance;
    let launches = match p.launches {
        1 => "one launch".to_owned(),
        launches => format!("each of {launches} separate launches"),
    };
    [
        format!(
            "A guideline A ⪯ B says that A must not be slower than B, which delivers the same result; both sides are \
             measured in {launches}."
        ),
        "Every repetition starts on all ranks together and ends when the last rank has finished, a launch contributes one \
         number, the median of its repetitions, and the seed shuffles the order of all measurements."
            .to_owned(),
        format!(
            "A cell is violated if the one-sided rank-sum test on the launch medians is significant at α = {} after Holm’s \
             correction for all tests of the run, and if the effect is also larger than {} and than twice the measured \
             noise.",
            p.alpha,
            format::percent(p.effect_floor)
        ),
        "The ratio is left over right, medians of launch medians, with a 95 % Hodges-Lehmann interval on logarithms; \
         asterisks mark adjusted p-values of at most 0.05 (*), 0.01 (**) and 0.001 (***)."
            .to_owned(),
        if report.command == "check" {
            "A cell is undecided if the samples neither show a violation nor exclude one, and unstable if the machine \
             changed while it was measured."
        } else {
            "Candidates for a violated cell compete with the untouched library and with the guideline’s bound, the simplest \
             of those that are statistically as good as the fastest is deployed, and the verification after tuning uses \
             exactly the files that were emitted, in fresh launches."
        }
        .to_owned(),
    ]
}

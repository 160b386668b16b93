//! Run time against message size, a figure for each violated guideline.

mod draw;
#[cfg(test)]
mod tests;

use askama::Template;
use draw::Figure;
use kilter_render::format;

use super::{Section, View, nothing};
use crate::summary::Group;
use crate::words::typeset;

pub(super) static SECTION: Section = Section {
    id: "figures",
    navigation: Some("Figures"),
    fields: &["cells"],
    html,
    text: nothing,
    markdown: nothing,
};

#[derive(Template)]
#[template(
    source = r##"<section id="figures">
<h2>Run time against message size</h2>
<p class="note">Points are medians of the launch medians, bars their range. Shaded sizes are violated; asterisks give the significance after correction (* ≤ 0.05, ** ≤ 0.01, *** ≤ 0.001). Both axes are logarithmic.</p>
{% for figure in figures %}<figure>
<figcaption><h3>{{ figure.guideline }} <span>{{ figure.expression }}</span></h3>
<p class="legend"><span class="key"><svg width="30" height="12" aria-hidden="true" focusable="false"><g class="left"><path class="curve" d="M0 6H30"/><circle class="mark" cx="15" cy="6" r="3.4"/></g></svg> {{ figure.left }}</span>
{% if let Some(right) = figure.right %}<span class="key"><svg width="30" height="12" aria-hidden="true" focusable="false"><g class="right"><path class="curve" d="M0 6H30"/><rect class="mark" x="11.8" y="2.8" width="6.4" height="6.4"/></g></svg> {{ right }}</span>{% endif %}
<span class="key"><span class="swatch" aria-hidden="true"></span> violated</span> <span class="caption">{{ figure.caption }}</span></p></figcaption>
<div class="panels{% if figure.after.is_none() %} single{% endif %}">
<div class="panel"><p class="when">{% if figure.after.is_some() %}Before: library{% else %}Library{% endif %} as delivered</p>{{ figure.before|safe }}</div>
{% if let Some(after) = figure.after %}<div class="panel"><p class="when">After: with what is deployed</p>{{ after|safe }}</div>{% endif %}
</div>
</figure>
{% endfor %}
</section>
"##,
    ext = "html"
)]
struct Figures {
    figures: Vec<FigureView>,
}

/// A figure with its heading.
struct FigureView {
    guideline: String,
    expression: String,
    left: String,
    right: Option<String>,
    before: String,
    after: Option<String>,
    caption: String,
}

fn html(view: &View<'_>) -> askama::Result<String> {
    let concerned: Vec<&Group<'_>> = view.summary.groups.iter().filter(|group| group.concerns()).collect();
    if concerned.is_empty() {
        return Ok(String::new());
    }
    let figures = concerned.iter().enumerate();
    Figures {
        figures: figures
            .filter_map(|(number, group)| figure_view(group, number))
            .collect(),
    }
    .render()
}

fn figure_view(group: &Group<'_>, number: usize) -> Option<FigureView> {
    let Figure {
        left,
        right,
        before,
        after,
    } = draw::draw(group, &format!("f{number}"))?;
    let counts = (group.before().violated, group.now().violated);
    let violated = |n: usize| {
        if n == 0 {
            "no size".to_owned()
        } else {
            format::count(n, "size")
        }
    };
    let caption = match after {
        Some(_) => format!(
            "Violated at {} before, at {} after.",
            violated(counts.0),
            violated(counts.1)
        ),
        None => format!("Violated at {}.", violated(counts.0)),
    };
    Some(FigureView {
        guideline: group.guideline.to_owned(),
        expression: typeset(&group.expression),
        left,
        right,
        before,
        after,
        caption,
    })
}

//! Gains of calls: a picture of all cells, default against deployed, and a table by call.

mod draw;
#[cfg(test)]
mod tests;

use askama::Template;
use draw::Panel;
use kilter_model::report::gain::geometric_mean;
use kilter_model::report::{CallGain, GainVerdict};
use kilter_render::format;
use kilter_render::sheet::{Entry, Sheet};

use super::{Section, View, one_table};
use crate::words::time;

pub(super) static SECTION: Section = Section {
    id: "gains",
    navigation: Some("Gains"),
    fields: &["gain", "gains"],
    html,
    text,
    markdown,
};

#[derive(Template)]
#[template(
    source = r##"<section id="gains">
<h2>{{ title }}</h2>
<p class="note">A point is a call at a size: its time in the untouched library over its time with what is deployed, both in launches in turn. Above the line at 1 it became faster. Bars are 95&nbsp;% intervals; both axes are logarithmic, the same for all calls.</p>
<p class="legend">{% for key in keys %}<span class="key"><svg width="14" height="14" aria-hidden="true" focusable="false">{{ key.mark|safe }}</svg> {{ key.words }}: {{ key.count }}</span> {% endfor %}</p>
<div class="dots">
{% for panel in panels %}<figure><figcaption><h3>{{ panel.name }}</h3></figcaption>{{ panel.svg|safe }}</figure>
{% endfor %}</div>
<details><summary>{{ rows.len() }} calls with both times, factor and interval</summary>
<div class="scroll" role="region" tabindex="0" aria-label="Gains of all calls">
<table class="sortable">
<thead><tr><th scope="col">Call</th><th scope="col" class="n">Size</th><th scope="col" class="n">Default</th><th scope="col" class="n">Deployed</th><th scope="col" class="n">Times as fast</th><th scope="col" class="n">95 % interval</th><th scope="col" class="n">Launches</th><th scope="col">Verdict</th></tr></thead>
<tbody>
{% for row in rows %}<tr><th scope="row">{{ row.name }}</th><td class="n" data-v="{{ row.bytes }}">{{ row.size }}</td><td class="n" data-v="{{ row.default_raw }}">{{ row.default }}</td><td class="n" data-v="{{ row.deployed_raw }}">{{ row.deployed }}</td><td class="n" data-v="{{ row.factor_raw }}"><b>{{ row.factor }}</b></td><td class="n"><span class="ci">{{ row.interval }}</span></td><td class="n">{{ row.launches }}</td><td class="{{ row.class }}">{{ row.verdict }}</td></tr>
{% endfor %}</tbody></table></div>
</details>
</section>
"##,
    ext = "html"
)]
struct Page {
    title: &'static str,
    keys: Vec<Key>,
    panels: Vec<Panel>,
    rows: Vec<Row>,
}

/// A mark of the picture, its meaning, and how many calls have it.
struct Key {
    mark: String,
    words: &'static str,
    count: usize,
}

/// A call as text, with the raw numbers for sorting.
struct Row {
    name: String,
    bytes: u64,
    size: String,
    default: String,
    default_raw: f64,
    deployed: String,
    deployed_raw: f64,
    factor: String,
    factor_raw: f64,
    interval: String,
    launches: usize,
    class: &'static str,
    verdict: &'static str,
}

const TITLE: &str = "Gains: default against deployed";

fn html(view: &View<'_>) -> askama::Result<String> {
    let gains = &view.report.gains;
    let panels = draw::panels(&by_call(gains));
    if panels.is_empty() {
        return Ok(String::new());
    }
    let verdicts = [GainVerdict::Faster, GainVerdict::Same, GainVerdict::Slower];
    let keys = verdicts.into_iter().map(|verdict| Key {
        mark: draw::mark(verdict, (7.0, 7.0)),
        words: words(verdict),
        count: gains.iter().filter(|call| call.verdict == verdict).count(),
    });
    Page {
        title: TITLE,
        keys: keys.filter(|key| key.count > 0).collect(),
        panels,
        rows: gains.iter().map(row).collect(),
    }
    .render()
}

fn text(view: &View<'_>) -> String {
    one_table::text(sheet(&view.report.gains))
}

fn markdown(view: &View<'_>) -> String {
    one_table::markdown(sheet(&view.report.gains))
}

/// The gains of each call together, in the order of the report.
fn by_call(gains: &[CallGain]) -> Vec<(&str, Vec<CallGain>)> {
    let mut calls: Vec<(&str, Vec<CallGain>)> = Vec::new();
    for gain in gains {
        match calls.iter_mut().find(|(function, _)| *function == gain.function) {
            Some((_, of_call)) => of_call.push(gain.clone()),
            None => calls.push((&gain.function, vec![gain.clone()])),
        }
    }
    for (_, of_call) in &mut calls {
        of_call.sort_by_key(|gain| gain.bytes);
    }
    calls
}

/// A line for each call.
fn sheet(gains: &[CallGain]) -> Option<Sheet> {
    let line = |(function, calls): (&str, Vec<CallGain>)| {
        let number = |verdict| calls.iter().filter(|call| call.verdict == verdict).count().to_string();
        let factors = || calls.iter().map(|call| call.factor);
        vec![
            Entry::text(format::function(function)),
            Entry::text(calls.len().to_string()),
            Entry::text(number(GainVerdict::Faster)),
            Entry::text(number(GainVerdict::Slower)),
            Entry::text(format::ratio(geometric_mean(&calls))),
            Entry::text(format::ratio(factors().fold(f64::INFINITY, f64::min))),
            Entry::text(format::ratio(factors().fold(0.0, f64::max))),
        ]
    };
    let rows: Vec<Vec<Entry>> = by_call(gains).into_iter().map(line).collect();
    (!rows.is_empty()).then(|| Sheet {
        title: TITLE.to_owned(),
        note: "Time of a call in the untouched library over its time with what is deployed, in launches in turn; mean is geometric.".to_owned(),
        heads: ["call", "sizes", "faster", "slower", "mean", "least", "most"]
            .map(str::to_owned)
            .to_vec(),
        names: 1,
        rows,
        narrow: false,
    })
}

fn row(gain: &CallGain) -> Row {
    Row {
        name: format::function(&gain.function),
        bytes: gain.bytes,
        size: format::bytes(gain.bytes),
        default: time(gain.default_seconds),
        default_raw: gain.default_seconds,
        deployed: time(gain.deployed_seconds),
        deployed_raw: gain.deployed_seconds,
        factor: format::ratio(gain.factor),
        factor_raw: gain.factor,
        interval: format::interval(gain.factor_ci),
        launches: gain.launches,
        class: match gain.verdict {
            GainVerdict::Faster => "good",
            GainVerdict::Slower => "bad",
            GainVerdict::Same => "calm",
        },
        verdict: words(gain.verdict),
    }
}

/// A verdict in words.
fn words(verdict: GainVerdict) -> &'static str {
    match verdict {
        GainVerdict::Faster => "faster",
        GainVerdict::Slower => "slower",
        GainVerdict::Same => "no difference shown",
    }
}

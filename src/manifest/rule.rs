//! Rules of arguments compared: whether one lies within another, and what both allow.

use serde_json::Number;

use super::ArgumentRule;
use crate::policy::arguments::less;

impl ArgumentRule {
    /// Whether every value the other allows is allowed by this one.
    pub fn holds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Listed(wide), Self::Listed(narrow)) => !narrow.is_empty() && narrow.iter().all(|value| wide.contains(value)),
            (Self::Range { min, max }, Self::Range { min: low, max: high }) => {
                let above = min.as_ref().is_none_or(|min| low.as_ref().is_some_and(|low| !less(low, min)));
                let below = max.as_ref().is_none_or(|max| high.as_ref().is_some_and(|high| !less(max, high)));
                above && below && (!is_whole(min.as_ref(), max.as_ref()) || is_whole(low.as_ref(), high.as_ref()))
            }
            (Self::Length { min, max }, Self::Length { min: low, max: high }) => {
                let above = min.is_none_or(|min| low.is_some_and(|low| low >= min));
                let below = max.is_none_or(|max| high.is_some_and(|high| high <= max));
                above && below
            }
            _ => false,
        }
    }
}

/// Whole bounds ask for whole numbers.
fn is_whole(min: Option<&Number>, max: Option<&Number>) -> bool {
    [min, max].into_iter().flatten().all(|bound| !bound.is_f64())
}

/// What both rules allow; none where that is nothing, or no one rule can say it.
pub(super) fn meet(old: &ArgumentRule, new: &ArgumentRule) -> Option<ArgumentRule> {
    if old.holds(new) {
        return Some(new.clone());
    }
    if new.holds(old) {
        return Some(old.clone());
    }
    match (old, new) {
        (ArgumentRule::Listed(old), ArgumentRule::Listed(new)) => {
            let both: Vec<_> = old.iter().filter(|value| new.contains(value)).cloned().collect();
            (!both.is_empty()).then_some(ArgumentRule::Listed(both))
        }
        (ArgumentRule::Range { min, max }, ArgumentRule::Range { min: low, max: high })
            if is_whole(min.as_ref(), max.as_ref()) == is_whole(low.as_ref(), high.as_ref()) =>
        {
            let pick = |one: &Option<Number>, two: &Option<Number>, takes_two: fn(&Number, &Number) -> bool| match (one, two) {
                (Some(one), Some(two)) => Some(if takes_two(one, two) { two.clone() } else { one.clone() }),
                (one, two) => one.clone().or_else(|| two.clone()),
            };
            Some(ArgumentRule::Range { min: pick(min, low, less), max: pick(max, high, |one, two| less(two, one)) })
        }
        (ArgumentRule::Length { min, max }, ArgumentRule::Length { min: low, max: high }) => {
            let most = [*max, *high].into_iter().flatten().min();
            Some(ArgumentRule::Length { min: (*min).max(*low), max: most })
        }
        _ => None,
    }
}

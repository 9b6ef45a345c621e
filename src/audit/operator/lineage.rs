//! The operators that vouched for an operator. Two operators count as two persons where neither vouched for the other, and where no single operator's
//! secret was enough to enrol both.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::queue::Answered;

/// The enrolment of an operator. It is fixed when the operator is enrolled: the removal of a voucher later changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The operators that vouched for this one, and in turn those that vouched for them.
    vouched: BTreeSet<String>,
    /// The operators of which any one secret is enough to prove this enrolment, this operator among them. Empty for an operator enrolled by a version that kept no
    /// lineage.
    alone: BTreeSet<String>,
}

impl Lineage {
    /// The lineage of a first operator: an enrolment without vouchers.
    pub fn founder(name: &str) -> Self {
        Self { vouched: BTreeSet::new(), alone: BTreeSet::from([name.to_owned()]) }
    }

    /// The lineage of an enrolment that has all these vouchers.
    pub fn enrolled(name: &str, vouchers: &[(String, Self)]) -> Self {
        let vouched = vouchers.iter().flat_map(|(voucher, line)| line.vouched.iter().chain([voucher])).cloned().collect();
        let mut lines = vouchers.iter().map(|(_, line)| &line.alone);
        let Some(first) = lines.next() else { return Self::default() };
        if vouchers.iter().any(|(_, line)| line.alone.is_empty()) {
            return Self { vouched, alone: BTreeSet::new() };
        }
        let mut alone = lines.fold(first.clone(), |both, next| &both & next);
        alone.insert(name.to_owned());
        Self { vouched, alone }
    }

    /// The names of the vouchers and, in turn, of their vouchers.
    pub fn vouched(&self) -> impl Iterator<Item = &str> {
        self.vouched.iter().map(String::as_str)
    }

    /// Whether the enrolment is known.
    pub fn is_known(&self) -> bool {
        !self.alone.is_empty()
    }

    /// Whether two of these operators are two persons.
    pub fn has_two(operators: &[(&str, &Self)]) -> bool {
        operators.iter().any(|one| operators.iter().any(|other| are_two(*one, *other)))
    }
}

/// Whether two operators are two persons.
fn are_two((one, first): (&str, &Lineage), (other, second): (&str, &Lineage)) -> bool {
    first.is_known()
        && second.is_known()
        && !first.vouched.contains(other)
        && !second.vouched.contains(one)
        && first.alone.is_disjoint(&second.alone)
}

/// The answers that count: two of different persons where there are two, else the first.
pub fn persons(answers: &[Answered]) -> Vec<&Answered> {
    let pair = answers
        .iter()
        .enumerate()
        .find_map(|(index, one)| Some((one, answers.iter().skip(index + 1).find(|other| are_two(one.enrolled(), other.enrolled()))?)));
    match pair {
        Some((one, other)) => vec![one, other],
        None => answers.first().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Enrolments in order, each `name: vouchers`, then whether two of them are two persons.
    fn two(enrolments: &[(&str, &[&str])], one: &str, other: &str) -> bool {
        let mut known: BTreeMap<&str, Lineage> = BTreeMap::new();
        for (name, vouchers) in enrolments {
            let lines: Vec<_> = vouchers.iter().map(|voucher| ((*voucher).to_owned(), known[voucher].clone())).collect();
            known.insert(name, if lines.is_empty() { Lineage::founder(name) } else { Lineage::enrolled(name, &lines) });
        }
        let answer = |name: &str| Answered::of(name, known[name].clone());
        let (forth, back) = (persons(&[answer(one), answer(other)]).len(), persons(&[answer(other), answer(one)]).len());
        assert_eq!(forth, back, "the order decides nothing");
        forth == 2
    }

    #[test]
    fn nobody_is_seconded_by_an_operator_of_their_own_making() {
        let chain: &[(&str, &[&str])] =
            &[("ann", &[]), ("ann2", &["ann"]), ("ann3", &["ann2"]), ("ann4", &["ann", "ann2"]), ("ann5", &["ann", "ann3"])];
        for one in ["ann", "ann2", "ann3", "ann4", "ann5"] {
            for other in ["ann", "ann2", "ann3", "ann4", "ann5"] {
                assert!(!two(chain, one, other), "{one} and {other}");
            }
        }
    }

    #[test]
    fn founders_are_two_persons_and_so_are_two_whom_both_enrolled() {
        let founded: &[(&str, &[&str])] = &[
            ("ann", &[]),
            ("bob", &[]),
            ("carl", &["ann", "bob"]),
            ("dora", &["ann", "bob"]),
            ("ann2", &["ann"]),
            ("ann3", &["ann", "ann2"]),
        ];
        for (one, other) in [("ann", "bob"), ("carl", "dora"), ("ann2", "bob"), ("ann3", "bob"), ("ann2", "carl")] {
            assert!(two(founded, one, other), "{one} and {other}");
        }
        for (one, other) in [("ann", "carl"), ("bob", "carl"), ("ann", "ann2"), ("ann2", "ann3"), ("ann", "ann3"), ("ann", "ann")] {
            assert!(!two(founded, one, other), "{one} and {other}");
        }
    }

    #[test]
    fn an_operator_of_unknown_making_seconds_nobody() {
        let unknown = Answered::of("old", Lineage::default());
        let bob = Answered::of("bob", Lineage::founder("bob"));
        let young = Lineage::enrolled("young", &[("old".to_owned(), Lineage::default()), ("bob".to_owned(), bob.lineage.clone())]);
        let young = Answered::of("young", young);
        assert_eq!(persons(&[unknown.clone(), bob.clone()]).len(), 1);
        assert_eq!(persons(&[unknown, young, bob.clone(), bob]).len(), 1);
        assert_eq!(persons(&[]).len(), 0);
    }
}

//! Personal data: what identifies or reaches a person. Candidates are read whole, then validated, then classified once.

mod address;
mod check;
mod email;
mod iban;
mod number;
mod table;
mod words;

use super::finding::{Finding, Kind};

/// Finds personal data.
pub(super) fn findings(text: &str, out: &mut Vec<Finding>) {
    let Some(table) = table::TABLE.as_ref() else { return };
    email::findings(table, text, out);
    iban::findings(table, text, out);
    number::findings(table, text, out);
    address::findings(text, out);
}

fn found(type_: &'static str, sub: &'static str, start: usize, end: usize, score: f32) -> Finding {
    Finding { kind: Kind::PersonalData, type_, sub, start, end, score }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(text: &str) -> Vec<(&'static str, &'static str, &str)> {
        let mut out = Vec::new();
        findings(text, &mut out);
        super::super::finding::without_overlaps(out).iter().map(|f| (f.type_, f.sub, text.get(f.start..f.end).unwrap())).collect()
    }

    #[test]
    fn each_row_is_found_in_its_examples_and_no_row_in_its_neighbours() {
        let mut wrong = Vec::new();
        for row in &table::TABLE.as_ref().unwrap().rows {
            let is_row = |text: &&String| found_in(text).iter().any(|(type_, sub, _)| (*type_, *sub) == (row.type_, &row.id));
            wrong.extend(row.r#match.iter().filter(|text| !is_row(text)));
            wrong.extend(row.not.iter().filter(|text| !found_in(text).is_empty()));
        }
        assert_eq!(wrong, Vec::<&String>::new());
    }

    #[test]
    fn numbers_are_found_whole_and_typed_by_their_check_digits() {
        for (text, type_, sub, value) in [
            ("card 4111 1111 1111 1111, thanks", "BANK_CARD", "BANK_CARD", "4111 1111 1111 1111"),
            ("pay with 378282246310005", "BANK_CARD", "BANK_CARD", "378282246310005"),
            ("Amex 3782-822463-10005", "BANK_CARD", "BANK_CARD", "3782-822463-10005"),
            ("JCB: 3530111333300000", "BANK_CARD", "BANK_CARD", "3530111333300000"),
            ("Diners Club 3056 930902 5904", "BANK_CARD", "BANK_CARD", "3056 930902 5904"),
            ("my card: 4000000000000000006", "BANK_CARD", "BANK_CARD", "4000000000000000006"),
            ("PHONE_NUMBER=5032345678", "PHONE", "us", "5032345678"),
            ("IBAN GB82 WEST 1234 5698 7654 32.", "IBAN", "IBAN", "GB82 WEST 1234 5698 7654 32"),
            ("4539578763621486 cvv 123 exp 12/27", "BANK_CARD", "BANK_CARD", "4539578763621486"),
            ("The card is 4539578763621486", "BANK_CARD", "BANK_CARD", "4539578763621486"),
            ("order 7, card number 4539578763621486", "BANK_CARD", "BANK_CARD", "4539578763621486"),
            ("order id 7, card 4539578763621486", "BANK_CARD", "BANK_CARD", "4539578763621486"),
            ("身份证11010519491231002X。", "NATIONAL_ID", "cn-id", "11010519491231002X"),
            ("CPF 529.982.247-25", "NATIONAL_ID", "br-cpf", "529.982.247-25"),
            ("SSN 536-22-8726", "NATIONAL_ID", "us-ssn", "536-22-8726"),
            ("NHS number 943 476 5919", "NATIONAL_ID", "uk-nhs", "943 476 5919"),
            ("DNI 12345678Z", "NATIONAL_ID", "es-dni", "12345678Z"),
            ("CF RSSMRA85T10A562S", "NATIONAL_ID", "it-cf", "RSSMRA85T10A562S"),
            ("电话13912345678", "PHONE", "cn-mobile", "13912345678"),
            ("call (503) 555-0142 now", "PHONE", "us", "(503) 555-0142"),
            ("+44 20 7946 0958", "PHONE", "gb", "+44 20 7946 0958"),
            ("<jo.doe+x@mail.example.org>,", "EMAIL", "EMAIL", "jo.doe+x@mail.example.org"),
        ] {
            assert_eq!(found_in(text), [(type_, sub, value)], "{text}");
        }
    }

    #[test]
    fn numbers_of_other_things_are_left_alone() {
        for text in [
            "order 4111111111111112",
            "id 99139123456789012",
            "x = 0.13912345678",
            "2026-03-14T09:26:53Z",
            "1 204 531 223",
            "10.0.0.1:8080",
            "ISBN 978-3-16-148410-0",
            "git@github.com:a/b.git",
            "@scope/pkg@1.2.3",
            "logo@2x.png",
            "postgres://u:pw@db.example.org/x",
            "v1.2.3-rc.4+5678901",
            "800-900-1000",
            "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
            "2019 2020 2021 2022",
            "Mobile 2017-2022, all rights reserved",
            "SYS_CALL 2125551234",
            "SMS_LIMIT = 5032345678",
            "x = 4539578763621486;",
            "SD card serial 4539578763621486",
            "business card id 4539578763621486",
            "card layout grid. id: 4539578763621486",
            "business card 4539578763621486",
            "call of duty 2009 2011 2013",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}

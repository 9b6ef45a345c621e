//! Floor of `gate`.

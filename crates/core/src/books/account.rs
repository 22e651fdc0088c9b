//! The accounts.

/// An account of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// What the provider holds for us or has paid out: its payouts are booked against this one.
    ProviderClearing,
    /// Deposits of bookings that are to come.
    DepositLiability,
    /// Money that is nobody's deposit, until it is used or has gone back.
    UnallocatedPayments,
    /// Forfeits that were taken back and count towards a bill.
    CustomerCredits,
    RevenueApplied,
    RevenueForfeited,
    CancellationRevenue,
    /// What banks have taken while a dispute is open.
    DisputedFunds,
    /// What banks have taken for good of money that had been earned or paid back.
    DisputeLosses,
    /// The provider's fees for disputes. Those for charges are not known to us.
    ProviderFees,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountKind {
    Asset,
    Liability,
    Revenue,
    Expense,
}

impl Account {
    pub const ALL: [Self; 10] = [
        Self::ProviderClearing,
        Self::DisputedFunds,
        Self::DepositLiability,
        Self::UnallocatedPayments,
        Self::CustomerCredits,
        Self::RevenueApplied,
        Self::RevenueForfeited,
        Self::CancellationRevenue,
        Self::DisputeLosses,
        Self::ProviderFees,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProviderClearing => "provider_clearing",
            Self::DepositLiability => "deposit_liability",
            Self::UnallocatedPayments => "unallocated_payments",
            Self::CustomerCredits => "customer_credits",
            Self::RevenueApplied => "revenue_applied",
            Self::RevenueForfeited => "revenue_forfeited",
            Self::CancellationRevenue => "cancellation_revenue",
            Self::DisputedFunds => "disputed_funds",
            Self::DisputeLosses => "dispute_losses",
            Self::ProviderFees => "provider_fees",
        }
    }

    pub fn kind(self) -> AccountKind {
        match self {
            Self::ProviderClearing | Self::DisputedFunds => AccountKind::Asset,
            Self::DepositLiability | Self::UnallocatedPayments | Self::CustomerCredits => {
                AccountKind::Liability
            }
            Self::RevenueApplied | Self::RevenueForfeited | Self::CancellationRevenue => {
                AccountKind::Revenue
            }
            Self::DisputeLosses | Self::ProviderFees => AccountKind::Expense,
        }
    }
}

impl AccountKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asset => "asset",
            Self::Liability => "liability",
            Self::Revenue => "revenue",
            Self::Expense => "expense",
        }
    }
}

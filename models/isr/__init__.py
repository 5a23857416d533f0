"""How the ISR is kept up to date: who is in it, and who hears of a change."""

module github.com/rules-pte/rules_pte

go 1.26.0

// It has the name of a file of pte_web.

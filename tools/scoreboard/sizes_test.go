package main

import "testing"

// TestSizes runs every dynamic program of the conformance set, and those of the model zoo, at the ends of their ranges,
// at 0 and 1, and one over. The pack is that of tools/oracle/sizes.py.
func TestSizes(t *testing.T) { testPack(t, "testdata/sizes.zip", 100, unguarded) }

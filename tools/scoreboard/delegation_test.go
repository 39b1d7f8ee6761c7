package main

import "testing"

func TestWorse(t *testing.T) {
	official := share{MACs: 90, Left: 10, Kernels: 4, Partitions: 2, BorderBytes: 100}
	for _, c := range []struct {
		name, want string
		got, than  share
	}{
		{"the same", "", official, official},
		{"better", "", share{MACs: 100, Kernels: 3, Partitions: 1, BorderBytes: 50}, official},
		{"less work", "80 of 100 multiply-accumulates, official 90 of 100", share{80, 20, 2, 4, 100}, official},
		{"the same share of other work", "", share{180, 20, 2, 4, 100}, official},
		{"more of everything", "5 kernel calls, official 4; 3 partitions, official 2; 101 bytes over the border, official 100",
			share{90, 10, 3, 5, 101}, official},
		{"an exchange", "3 partitions, official 2; in exchange 3 kernel calls, official 4", share{90, 10, 3, 3, 100}, official},
		{"no work", "", share{}, share{}},
		{"payloads that are empty", "", share{MACs: 90, Left: 10}, share{MACs: -1, Left: 10}},
		{"empty payloads that have more", "11 multiply-accumulates left, official 10", share{MACs: 89, Left: 11}, share{MACs: -1, Left: 10}},
	} {
		if got := c.got.worse(&c.than); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDistances(t *testing.T) {
	for _, c := range []struct {
		got  distances
		want verdict
	}{
		{distances{Equal: []float64{1, 0.5, -1}, Steps: []float64{0, 1, 0}}, verdict{"ok", "100.00%, 50.00% (1 of a step), none"}},
		{distances{Equal: []float64{0.9}, Steps: []float64{1.5}}, verdict{"fail", "90.00% (1.5 of a step)"}},
		{distances{Reason: "dies"}, verdict{"fail", "dies"}},
	} {
		if v := c.got.verdict(); v != c.want {
			t.Errorf("got %v, want %v", v, c.want)
		}
	}
}

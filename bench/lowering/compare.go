package main

import (
	"errors"
	"fmt"
	"slices"
)

// comparison is the medians of one model on both sides.
type comparison struct {
	Name     string  `json:"name"`
	Ours     sample  `json:"ours"`
	Official *sample `json:"official,omitempty"`
	// Refusal is why the official exporter does not lower the model.
	Refusal string `json:"refusal,omitempty"`
}

// compare lowers m on both sides in turns. theirs may be nil.
func compare(ours *ours, theirs *official, m model, rounds int) (comparison, error) {
	c := comparison{Name: m.name}
	var a, b []sample
	for range rounds {
		s, err := ours.lower(m)
		if err != nil {
			return c, err
		}
		a = append(a, s)
		if theirs == nil || c.Refusal != "" {
			continue
		}
		var no refusal
		switch s, err := theirs.lower(m); {
		case errors.As(err, &no):
			c.Refusal = err.Error()
		case err != nil:
			return c, err
		default:
			b = append(b, s)
		}
	}
	c.Ours = median(a)
	if len(b) > 0 {
		m := median(b)
		c.Official = &m
	}
	return c, nil
}

// speed is how many times faster ours is.
func (c *comparison) speed() float64 { return c.Official.Seconds / c.Ours.Seconds }

func (c *comparison) summary() string {
	if c.Official == nil {
		return fmt.Sprintf("%.3f s", c.Ours.Seconds)
	}
	return fmt.Sprintf("%.3f s, %.0f times faster", c.Ours.Seconds, c.speed())
}

// median takes the median of each field by itself.
func median(list []sample) sample {
	of := func(field func(*sample) float64) float64 {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = field(&list[i])
		}
		slices.Sort(values)
		n := len(values)
		return (values[(n-1)/2] + values[n/2]) / 2
	}
	out := sample{
		Seconds: of(func(s *sample) float64 { return s.Seconds }),
		CPU:     of(func(s *sample) float64 { return s.CPU }),
		PeakMiB: of(func(s *sample) float64 { return s.PeakMiB }),
		HeapMiB: of(func(s *sample) float64 { return s.HeapMiB }),
		Parts:   map[string]float64{},
	}
	for part := range list[0].Parts {
		out.Parts[part] = of(func(s *sample) float64 { return s.Parts[part] })
	}
	return out
}

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// share is how much of a program XNNPACK has, as pte inspect reads it.
type share struct {
	// MACs are the multiply-accumulates that it has, -1 if its payloads do not say; Left are those of kernels. Both are
	// at the largest sizes.
	MACs, Left int64
	// Partitions are the calls of delegates, Kernels those of kernels.
	Partitions, Kernels int64
	// BorderBytes are those of the arguments of delegates, at their largest.
	BorderBytes int64
}

// worse says in what s is worse than other, and in what it is better in exchange; "" if in nothing. A program without
// multiply-accumulates has all of them delegated.
func (s *share) worse(other *share) string {
	var worse, better []string
	note := func(what string, got, want int64) {
		text := fmt.Sprintf("%d %s, official %d", got, what, want)
		switch {
		case got > want:
			worse = append(worse, text)
		case got < want:
			better = append(better, text)
		}
	}
	// Where all of the work is the same, the share is lower if more of it is left.
	all := s.MACs + s.Left
	if other.MACs < 0 {
		note("multiply-accumulates left", s.Left, other.Left)
	} else if theirs := other.MACs + other.Left; float64(s.MACs)*float64(theirs) < float64(other.MACs)*float64(all) {
		worse = append(worse, fmt.Sprintf("%d of %d multiply-accumulates, official %d of %d", s.MACs, all, other.MACs, theirs))
	}
	note("kernel calls", s.Kernels, other.Kernels)
	note("partitions", s.Partitions, other.Partitions)
	note("bytes over the border", s.BorderBytes, other.BorderBytes)
	if len(worse) > 0 && len(better) > 0 {
		return strings.Join(worse, "; ") + "; in exchange " + strings.Join(better, "; ")
	}
	return strings.Join(worse, "; ")
}

// shareOf reads a program with pte inspect.
func (j *judge) shareOf(file string) (*share, error) {
	stdout, stderr, err := j.call([]string{"inspect", "--delegation", "--json", file})
	if err != nil {
		return nil, fmt.Errorf("inspect %s: %s: %w", filepath.Base(file), stderr, err)
	}
	var methods []struct {
		Backends map[string]struct {
			Partitions  int64  `json:"partitions"`
			BorderBytes int64  `json:"border_bytes"`
			MACs        *int64 `json:"macs"`
		}
		Kernels    map[string]struct{ Calls int64 }
		KernelMACs int64 `json:"kernel_macs"`
	}
	if err := json.Unmarshal([]byte(stdout), &methods); err != nil {
		return nil, fmt.Errorf("parse delegation of %s: %w", filepath.Base(file), err)
	}
	s := &share{}
	for _, m := range methods {
		s.Left += m.KernelMACs
		for _, b := range m.Backends {
			s.Partitions += b.Partitions
			s.BorderBytes += b.BorderBytes
			switch {
			case b.MACs == nil:
				s.MACs = -1
			case s.MACs >= 0:
				s.MACs += *b.MACs
			}
		}
		for name, k := range m.Kernels {
			if !strings.HasPrefix(name, "executorch_prim::") {
				s.Kernels += k.Calls
			}
		}
	}
	return s, nil
}

// delegation says whether ours delegates at least as much as the official program does.
func (j *judge) delegation(ours, theirs string) verdict {
	a, err := j.shareOf(ours)
	if err != nil {
		return fail(err.Error())
	}
	b, err := j.shareOf(theirs)
	if err != nil {
		return fail(err.Error())
	}
	if reason := a.worse(b); reason != "" {
		return verdict{"fail", reason}
	}
	return verdict{state: "ok"}
}

package exir

// MutatedBuffers are the names of the buffers that some method writes. Methods share their state by name.
func (p *Program) MutatedBuffers() map[string]bool {
	mutated := map[string]bool{}
	for _, m := range p.Methods {
		for _, o := range m.Outputs {
			if o.Kind == BufferMutation {
				mutated[o.Target] = true
			}
		}
	}
	return mutated
}

"""Where the object that one speculative step hands to the next is made, filled, stored and read."""

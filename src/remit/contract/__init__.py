"""What a result is: its model, how it is read and written."""

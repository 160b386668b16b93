-- Why an item failed is JSON (`kilter_protocol::fault::Fault`). Texts of older versions keep their words; their kind follows from how they
-- begin.
UPDATE item_notes SET detail = json_object(
    'fault', 'told',
    'kind', CASE
        WHEN substr(detail, 1, 10) = 'wrong data' THEN 'delivered wrong data'
        WHEN substr(detail, 1, 13) = 'had no effect' THEN 'had no effect'
        ELSE 'could not be run'
    END,
    'text', detail)
WHERE kind = 'failed';
